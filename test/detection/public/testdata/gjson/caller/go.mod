module example.com/gjson

go 1.24

require github.com/tidwall/gjson v1.17.1
