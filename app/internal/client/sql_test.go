package client

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// What a server answers is read as it comes, whatever that is.
func TestReadSQL(t *testing.T) {
	for body, want := range map[string]string{
		`{"columns":["a","b"],"types":["BIGINT","BLOB"],"notes":["n"],"rows":[[1,"00ff"],[2,null]]}`: "[1 [0 255]][2 <nil>]",
		`{"columns":[],"types":[],"rows":[]}`:                                                        "",
		`{"columns":[],"types":[],"rows":[[1]]}`:                                                     "1 values in 0 columns",
		`{"columns":["a"],"types":["BIGINT"],"rows":[[]]}`:                                           "0 values in 1 columns",
		`{"columns":["a"],"types":["BIGINT"],"rows":[[1],`:                                           "[1]EOF",
		`{"columns":["a"],"types":[],"rows":[]}`:                                                     "0 types of 1 columns",
		`{"columns":["a"],"types":["BIGINT"],"rows":{}}`:                                             "in place of rows",
		`{"columns":["a"],"types":["BIGINT"],"more":[]}`:                                             "more in place of rows",
		`[]`: "in place of an object",
		``:   "EOF",
	} {
		a, err := readSQL(io.NopCloser(strings.NewReader(body)))
		got := fmt.Sprint(err)
		if err == nil {
			got = ""
			for row, err := range a.Rows {
				if err != nil {
					got += err.Error()
					break
				}
				got += fmt.Sprint(row)
			}
		}
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
