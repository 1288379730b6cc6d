package util

import _ "example.org/not/looked/at"

func NotLookedAt() {}
