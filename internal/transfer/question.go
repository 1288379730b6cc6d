package transfer

import (
	"bytes"
	"io"

	"github.com/dendroprof/dendro/store"
)

// Question is what is asked of a store: the arguments of a method of the
// contract, each method taking those that it has.
type Question struct {
	Query    store.Query
	Names    []string // functions
	All      bool     // of Functions: every function, Names is nil
	Group    string
	Options  store.TreeOptions
	Measure  store.Measure
	Profiles []store.ProfileID
	SQL      string
}

func (c *coder) question(v *Question) {
	c.query(&v.Query)
	texts(c, &v.Names)
	c.bool(&v.All)
	text(c, &v.Group)
	c.bool(&v.Options.Modes)
	c.bool(&v.Measure.Self)
	c.bool(&v.Measure.Share)
	texts(c, &v.Profiles)
	text(c, &v.SQL)
}

// Encode returns the question as a message.
func (q *Question) Encode() ([]byte, error) {
	var b bytes.Buffer
	err := writeOne(&b, frameQuestion, func(c *coder) { c.question(q) })
	return b.Bytes(), err
}

// ReadQuestion reads a question. Names is empty and not nil unless All is set.
func ReadQuestion(r io.Reader) (q Question, err error) {
	err = readOne(r, frameQuestion, func(c *coder) { c.question(&q) })
	if q.Names == nil && !q.All {
		q.Names = []string{}
	}
	return q, err
}
