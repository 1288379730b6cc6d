module example.com/validator

go 1.24

require github.com/go-playground/validator/v10 v10.11.0
