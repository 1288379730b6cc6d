// Package tokens splits lines of records into fields.
package tokens

// Fields appends the fields of a line to list. Fields are separated by commas; a field in
// double quotes may have commas.
func Fields(list []string, line string) []string {
	quoted, from := false, 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			list = append(list, unquote(line[from:i]))
			from = i + 1
		}
	}
	return append(list, unquote(line[from:]))
}

func unquote(field string) string {
	if n := len(field); n >= 2 && field[0] == '"' && field[n-1] == '"' {
		return field[1 : n-1]
	}
	return field
}
