package jsonscan

// Tree reads the next value, a tree whose nodes lie inside each other: an object a
// node, with its children in an array under the key "children", or "c". It calls enter where
// a node begins, with its parent (nil for the root); field for every other key of the
// node, to read the value or leave it; and leave where the node ends. What enter
// returns is the node in work, valid until leave. After an error nothing is called any
// more. Nothing recurses.
func Tree[N any](s *Scanner, enter func(parent *N) N, field func(n *N, key string), leave func(n *N)) {
	type open struct {
		node   N
		inList bool // at its children
	}
	var path []open
	if s.BeginObject() {
		path = append(path, open{node: enter(nil)})
	}
	for len(path) > 0 && s.Err() == nil {
		top := &path[len(path)-1]
		if top.inList {
			if !s.More() {
				top.inList = false
			} else if s.BeginObject() {
				path = append(path, open{node: enter(&top.node)})
			}
			continue
		}
		key, ok := s.Key()
		switch {
		case s.Err() != nil:
		case !ok:
			leave(&top.node)
			path = path[:len(path)-1]
		case (string(key) == "children" || string(key) == "c") && s.Kind() != Number:
			top.inList = s.BeginArray()
		default:
			field(&top.node, string(key))
		}
	}
}
