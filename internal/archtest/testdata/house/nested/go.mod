module example.com/house/nested
