def small(n):
    return n * 3 % 11


def twice(n):
    return small(n) + small(n + 1)


def main():
    total = 0
    for number in range(150000):
        total += twice(number % 9)
    return total


main()
