"""Marks a few chosen columns in every row of a matrix with the in-place scatter_, row after row.

Needs torch. Run:  python scatter_loop.py [scale]   (scale 1 marks 120 times)
"""

# what is wrong with it: one scatter_ per row pays the call many times over; one scatter_(1, columns, 1.0) does all rows
import sys

try:
    import torch
except ImportError:
    print("scatter_loop.py needs torch: pip install torch", file=sys.stderr)
    sys.exit(77)

ROWS, COLUMNS, CHOSEN = 2000, 1000, 400


def mark(matrix, columns):
    """Set matrix[i, columns[i]] = 1 for every row i."""
    for i in range(len(matrix)):
        matrix[i].scatter_(0, columns[i], 1.0)


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    rounds = max(1, round(120 * scale))
    torch.manual_seed(0)
    torch.set_num_threads(1)  # one core, so that runs compare
    matrix = torch.zeros(ROWS, COLUMNS)
    columns = torch.randint(COLUMNS, (ROWS, CHOSEN))
    for _ in range(rounds):
        matrix.zero_()
        mark(matrix, columns)
    print(f"{rounds} rounds: {int(matrix.sum())} of {matrix.numel()} entries marked")


if __name__ == "__main__":
    main()
