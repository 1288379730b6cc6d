package inner

import _ "example.org/anything"
