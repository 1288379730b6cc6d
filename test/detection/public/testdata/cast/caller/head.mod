module example.com/cast

go 1.24

require github.com/spf13/cast v1.10.0
