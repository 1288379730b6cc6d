package table

// ShareColumn is a column of fractions, written as percentages.
func ShareColumn(name string) Column {
	return Column{Name: name, Right: true, Text: Percent}
}

// PlaceColumn is a column of places on an axis from 0 to 1.
func PlaceColumn(name string) Column {
	return Column{Name: name, Right: true, Text: Decimals}
}

// CountColumn is a column of whole numbers.
func CountColumn(name string) Column { return Column{Name: name, Right: true} }

// TextColumn is a column of texts.
func TextColumn(name string) Column { return Column{Name: name} }
