// Package api is where oapi-codegen's client of our description stands while
// TestGenerated_Go runs the program beside it.
package api

import _ "github.com/oapi-codegen/runtime" // the client needs it
