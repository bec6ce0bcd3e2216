"""A two-layer network in plain Python lists, trained by hand: 500 steps of forward, backward, update.

Needs nothing. Run:  python two_layer_net_pure.py [scale]   (scale 1 is 500 steps; 0.1 is 50)
"""

# what is wrong with it: matmul multiplies numbers one by one in bytecode, b[k][j] looked up each time; use numpy
import random
import sys

BATCH, INPUTS, HIDDEN, OUTPUTS = 16, 64, 32, 8
LEARNING_RATE = 0.0005


def random_matrix(rows, columns, spread=1.0):
    return [[random.gauss(0.0, spread) for _ in range(columns)] for _ in range(rows)]


def transpose(a):
    return [list(column) for column in zip(*a)]


def matmul(a, b):
    rows, inner, columns = len(a), len(b), len(b[0])
    product = []
    for i in range(rows):
        row = []
        for j in range(columns):
            total = 0.0
            for k in range(inner):
                total += a[i][k] * b[k][j]
            row.append(total)
        product.append(row)
    return product


def relu(a):
    return [[value if value > 0.0 else 0.0 for value in row] for row in a]


def relu_backward(gradient, hidden):
    return [
        [g if h > 0.0 else 0.0 for g, h in zip(gradient_row, hidden_row)]
        for gradient_row, hidden_row in zip(gradient, hidden)
    ]


def forward(x, w1, w2):
    hidden = relu(matmul(x, w1))
    return hidden, matmul(hidden, w2)


def squared_error(y_pred, y):
    """The loss, and its gradient with respect to y_pred."""
    loss = 0.0
    gradient = []
    for predicted_row, wanted_row in zip(y_pred, y):
        differences = [p - w for p, w in zip(predicted_row, wanted_row)]
        loss += sum(d * d for d in differences)
        gradient.append([2.0 * d for d in differences])
    return loss, gradient


def backward(x, hidden, w2, gradient):
    """The gradients of w1 and w2."""
    grad_w2 = matmul(transpose(hidden), gradient)
    grad_hidden = relu_backward(matmul(gradient, transpose(w2)), hidden)
    grad_w1 = matmul(transpose(x), grad_hidden)
    return grad_w1, grad_w2


def update(weights, gradients):
    for row, gradient_row in zip(weights, gradients):
        for i, gradient in enumerate(gradient_row):
            row[i] -= LEARNING_RATE * gradient


def step(x, y, w1, w2):
    hidden, y_pred = forward(x, w1, w2)
    loss, gradient = squared_error(y_pred, y)
    grad_w1, grad_w2 = backward(x, hidden, w2, gradient)
    update(w1, grad_w1)
    update(w2, grad_w2)
    return loss


def train(steps):
    x = random_matrix(BATCH, INPUTS)
    y = random_matrix(BATCH, OUTPUTS)
    w1 = random_matrix(INPUTS, HIDDEN, INPUTS**-0.5)
    w2 = random_matrix(HIDDEN, OUTPUTS, HIDDEN**-0.5)
    return [step(x, y, w1, w2) for _ in range(steps)]


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    steps = max(1, round(500 * scale))
    random.seed(0)
    losses = train(steps)
    print(f"{steps} steps: loss {losses[0]:.4g} -> {losses[-1]:.4g}")


if __name__ == "__main__":
    main()
