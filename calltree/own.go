package calltree

// Holders returns for each node the one for which its self value counts where own code is ranked:
// the innermost call of an own function at or above it, or the outermost call if there is none.
func (t *Table) Holders(own []bool) []int32 {
	of := make([]int32, t.Len())
	for n := range of {
		if p := t.Parent[n]; p == NoNode || own[t.Func[n]] {
			of[n] = int32(n)
		} else {
			of[n] = of[p]
		}
	}
	return of
}

// OwnValues returns what each function takes of its own. That of an own function has what it calls of
// libraries and the runtime; others have none. In a tree without samples of own functions it is the
// self value of all.
func (t *Tree) OwnValues(own []bool) []int64 {
	values, self, any := make([]int64, len(t.Functions)), make([]int64, len(t.Functions)), false
	holders := t.Holders(own)
	for n, v := range t.Self {
		self[t.Func[n]] += v
		if fn := t.Func[holders[n]]; own[fn] {
			values[fn] += v
			any = any || v != 0
		}
	}
	if any {
		return values
	}
	return self
}
