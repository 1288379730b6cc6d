package jobs

import "strings"

// Less orders jobs by name, whatever the case of its letters.
func Less(a, b *Job) bool { return strings.ToLower(a.Name) < strings.ToLower(b.Name) }

// Urgent orders jobs by priority.
func Urgent(a, b *Job) bool { return a.Priority > b.Priority }
