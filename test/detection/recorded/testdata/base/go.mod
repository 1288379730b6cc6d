module example.com/billing

go 1.24

require example.com/tokens v1.0.0
