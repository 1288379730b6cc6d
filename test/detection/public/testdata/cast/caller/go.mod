module example.com/cast

go 1.24

require github.com/spf13/cast v1.7.1
