package testonly

import _ "example.org/anything"
