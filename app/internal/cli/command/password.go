package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/store/engines"
)

// password returns what asks for passwords on the terminal, each once, or nil
// where nobody sits: the engine then says which variables to set.
func (e *Env) password() engines.Password {
	in, ok := e.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || !Terminal(e.Err) {
		return nil
	}
	return func(ctx context.Context, user, server string) (string, error) {
		who := user + " at " + server
		if known, ok := e.passwords[who]; ok {
			return known, nil
		}
		text, err := prompt(ctx, e.Err, int(in.Fd()), "Password of "+words.Clean(who)+": ")
		if err != nil {
			return "", err
		}
		if e.passwords == nil {
			e.passwords = map[string]string{}
		}
		e.passwords[who] = text
		return text, nil
	}
}

// prompt reads a line from a terminal without showing it. An interrupt ends it
// and leaves the terminal as it was.
func prompt(ctx context.Context, out io.Writer, terminal int, question string) (string, error) {
	before, err := term.GetState(terminal)
	if err != nil {
		return "", err
	}
	fmt.Fprint(out, question)
	defer fmt.Fprintln(out)
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(terminal)
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		if l.err == nil && len(l.text) == 0 {
			l.err = errors.New("none given")
		}
		return string(l.text), l.err
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(terminal, before))
	}
}
