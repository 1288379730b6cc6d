package jobs

// Less orders jobs by name.
func Less(a, b *Job) bool { return a.Name < b.Name }

// Urgent orders jobs by priority.
func Urgent(a, b *Job) bool { return a.Priority > b.Priority }
