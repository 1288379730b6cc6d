// Package format reads and writes profiles: it tells what a file is by its
// content, takes off compression and archives, and calls the reader of the
// format.
package format
