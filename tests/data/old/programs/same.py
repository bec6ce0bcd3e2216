def area(width, height):
    return width * height


def label(text, number):
    return text + str(number)


def main():
    for number in range(200):
        area(3, number % 4)
        label("row", number)


main()
