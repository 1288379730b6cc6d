package profile

// Difference reports whether the profile is what a differential file holds: two
// tables, one of type Base and one of type Head, in any order.
func (p *Profile) Difference() bool {
	if len(p.Tables) != 2 {
		return false
	}
	a, b := p.Tables[0].Type.Name, p.Tables[1].Type.Name
	return a == Base && b == Head || a == Head && b == Base
}
