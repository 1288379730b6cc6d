module example.com/bluemonday

go 1.24

require github.com/microcosm-cc/bluemonday v1.0.2
