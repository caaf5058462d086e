enum Color { red, red }
