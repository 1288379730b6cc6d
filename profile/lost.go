package profile

// LostName is the function of samples whose stack was lost. It is of KindLabel.
const LostName = "(no stack)"

// CountLost gives rows without a stack that of the function LostName, so that they count.
// Readers call it where no stack means that it could not be recorded, or has no frames,
// and not where it means that nothing ran: such a gap stays without a stack.
func (s *Samples) CountLost(sym *Symbols) {
	lost := NoStack
	for i, st := range s.Stack {
		if st != NoStack {
			continue
		}
		if lost == NoStack {
			lost = sym.Lost()
		}
		s.Stack[i] = lost
		if s.Content != nil {
			s.Content[i] = StackHash{}.Call(sym.FrameHash(sym.Leaf(lost)))
		}
	}
}

// CountLost does so in all tables.
func (p *Profile) CountLost() {
	for i := range p.Tables {
		p.Tables[i].CountLost(p.Symbols)
	}
}

// IsLost reports whether a stack is that of samples whose stack was lost.
func (s *Symbols) IsLost(st StackID) bool {
	return st != NoStack && s.Parent(st) == NoStack && s.Functions[s.Frames[s.Leaf(st)].Function].Name == LostName
}

// Lost returns the stack of samples whose stack was lost: one frame of the function LostName.
func (s *Symbols) Lost() StackID {
	return s.Stack(NoStack, s.Frame(Frame{Function: s.Function(Function{Name: LostName})}))
}
