module example.com/decimal

go 1.24

require github.com/shopspring/decimal v1.2.0
