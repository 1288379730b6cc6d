package pyroscope

import (
	"errors"

	"github.com/dendroprof/dendro/continuous/intake"
)

func (in *push) jfr(*intake.Worker) error  { return errors.New("format jfr is not received yet") }
func (in *push) text(*intake.Worker) error { return errors.New("formats of text are not received yet") }
