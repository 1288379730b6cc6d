package profile

// Hidden returns the tables whose samples one table does not show: those of other events,
// not the same samples weighed in another way. A table that leaves out samples of the
// other, as of value 0, shows the same ones.
func (p *Profile) Hidden(table int) (list []int) {
	shown := p.Tables[table].Stack
	for i := range p.Tables {
		s := p.Tables[i].Stack
		if i != table && len(s) > 0 && !subsequence(s, shown) && !subsequence(shown, s) {
			list = append(list, i)
		}
	}
	return list
}

// subsequence reports whether a is b with elements left out.
func subsequence(a, b []StackID) bool {
	if len(a) > len(b) {
		return false
	}
	n := 0
	for i := 0; i < len(b) && n < len(a); i++ {
		if b[i] == a[n] {
			n++
		}
	}
	return n == len(a)
}
