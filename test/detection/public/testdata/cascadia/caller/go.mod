module example.com/cascadia

go 1.24

require github.com/andybalholm/cascadia v1.0.0
