package command

import (
	"os"
	"os/exec"
)

// pager returns the command that shows long output on a terminal: $DENDRO_PAGER, else
// $PAGER, else less. An empty variable, or cat, means none.
func pager() string {
	for _, name := range []string{"DENDRO_PAGER", "PAGER"} {
		if command, set := os.LookupEnv(name); set {
			if command == "cat" {
				return ""
			}
			return command
		}
	}
	if _, err := exec.LookPath("less"); err != nil {
		return ""
	}
	return "less"
}

// page calls f with an env whose output goes through the pager, if it would go to a
// terminal.
func (e *Env) page(f func(e *Env) error) error {
	command := pager()
	if e.screen != nil || !Terminal(e.Out) || command == "" || os.Getenv("TERM") == "dumb" {
		return f(e)
	}
	c := exec.Command("sh", "-c", command)
	c.Stdout, c.Stderr = e.Out, e.Err
	c.Env = os.Environ()
	if _, set := os.LookupEnv("LESS"); !set {
		c.Env = append(c.Env, "LESS=FRX") // as git: end if it fits a page, show colours, leave it on the screen
	}
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return f(e)
	}
	paged := *e
	paged.Out, paged.screen = in, e.Out
	err = f(&paged)
	in.Close()
	_ = c.Wait()         // the pager prints its own errors
	if ReaderLeft(err) { // before the end
		return nil
	}
	return err
}
