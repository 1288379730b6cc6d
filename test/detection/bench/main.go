// Command bench measures how well regressions are detected, prints tables and
// fails when a required figure is missed: `make bench-detection`.
//
// The real part runs over the histories in testdata, or over a folder of more of
// the same layout (-real, or DENDRO_HISTORIES); the required figures hold for the
// whole set of seven benchmarks and are then checked. The simulated part makes its
// histories itself, of fixed seeds.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/test/detection"
	"github.com/dendroprof/dendro/test/detection/public"
)

func main() {
	real := flag.String("real", os.Getenv("DENDRO_HISTORIES"), "folder of real histories (default: those in testdata)")
	size := flag.Float64("size", 1, "of the simulated part: 1 is all of it, 0 none")
	seed := flag.Uint64("seed", 1, "of the simulated part")
	gate := flag.Int("gate", 0, "measure the gate on so many clean simulated benchmarks, and nothing else")
	clean := flag.String("clean", "", "measure the gate on pairs of runs of this store, in which nothing changed, and nothing else")
	roc := flag.Bool("roc", false, "print located regressions and false findings by the error probability, and nothing else")
	nights := flag.Bool("nights", true, "measure changes that last for nights and end")
	without := flag.String("without", "", "print what a rule of the method buys in every suite (all: each rule), and nothing else")
	trace := flag.Bool("v", false, "print every run with an unexpected answer")
	flag.Parse()
	ctx := context.Background()
	var err error
	switch {
	case *gate > 0:
		detection.MeasureGate(os.Stdout, *gate, *seed)
	case *clean != "":
		err = runClean(ctx, *clean)
	case *without != "":
		err = runWithout(ctx, *real, *without)
	case *roc:
		var subjects []*detection.Subject
		if subjects, _, err = detection.LoadReal(ctx, os.DirFS(cmp.Or(*real, realTestdata))); err == nil {
			detection.PrintROC(os.Stdout, subjects)
		}
	default:
		err = run(*real, *size, *seed, *nights, *trace)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-detection: "+err.Error())
		os.Exit(1)
	}
}

// realTestdata is the part of the real histories that the repository has.
const realTestdata = "test/detection/testdata/real"

func runClean(ctx context.Context, where string) error {
	st, err := engines.Open(ctx, where, engines.Read)
	if err != nil {
		return err
	}
	return errors.Join(detection.MeasureClean(ctx, os.Stdout, st), st.Close())
}

func run(real string, size float64, seed uint64, nights, trace bool) error {
	whole := real != ""
	real = cmp.Or(real, realTestdata)
	start := time.Now()
	subjects, all, err := detection.LoadReal(context.Background(), os.DirFS(real))
	if err != nil {
		return err
	}
	if len(subjects) == 0 {
		return fmt.Errorf("there are no histories in %s", real)
	}
	var w io.Writer
	if trace {
		w = os.Stdout
	}
	fmt.Printf("real histories: %d benchmarks and states of their machine\n", len(subjects))
	checks := detection.RealFigures(os.Stdout, subjects, w)
	ok := detection.PrintChecks(os.Stdout, checks) || !whole
	located, runs := detection.Reversed(all, detection.Default(regression.Options{}))
	fmt.Printf("RR18 planted regressions reversed, history of 3 or 4 changed runs: %d of %d improvements located (not required)\n", located, runs)
	if !whole {
		fmt.Println("(a part of the set; the figures are required of the whole)")
	}
	if nights {
		fmt.Println("\nnights: changes that last and end")
		figures, err := detection.MeasureNights(context.Background(), subjects, 2, 40, w)
		if err != nil {
			return err
		}
		figures.Print(os.Stdout)
		ok = detection.PrintChecks(os.Stdout, figures.Checks("real")) && ok
	}
	fmt.Println("\nversion bumps of public modules")
	pairs, err := public.Load(context.Background(), os.DirFS(filepath.Join("test", "detection", "public", "testdata")))
	if err != nil {
		return err
	}
	figures, err := public.Run(context.Background(), os.Stdout, pairs)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s\n", figures)
	ok = detection.PrintChecks(os.Stdout, figures.Checks()) && ok
	if nights {
		figures, err := public.MeasureNights(context.Background(), pairs, 3, 40, w)
		if err != nil {
			return err
		}
		figures.Print(os.Stdout)
		ok = detection.PrintChecks(os.Stdout, figures.Checks("bumps")) && ok
	}
	if size > 0 {
		fmt.Println("\nsimulated histories")
		ok = detection.PrintChecks(os.Stdout, detection.RunSimulated(os.Stdout, size, seed)) && ok
		if nights {
			figures, err := detection.SimulatedCleanNights(context.Background(), int(60*size), seed+9e6, w)
			if err != nil {
				return err
			}
			figures.Print(os.Stdout)
			ok = detection.PrintChecks(os.Stdout, figures.Checks("simulated")) && ok
		}
		if err := detection.PrintSpeed(os.Stdout); err != nil {
			return err
		}
	}
	fmt.Printf("%.0f s\n", time.Since(start).Seconds())
	if !ok {
		return fmt.Errorf("a required figure is missed")
	}
	return nil
}
