package bench

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine describes what a table was measured on; more names versions of
// libraries.
func Machine(more ...string) string {
	model := runtime.GOARCH
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	parts := append([]string{
		model,
		fmt.Sprintf("%d cores", runtime.NumCPU()),
		runtime.GOOS,
		runtime.Version(),
	}, more...)
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ := strings.Cut(string(data), " ")
		parts = append(parts, "load "+load)
	}
	return strings.Join(parts, ", ")
}
