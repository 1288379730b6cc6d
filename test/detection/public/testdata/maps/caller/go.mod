module example.com/maps

go 1.21

toolchain go1.23.12
