// Package api is the location of oapi-codegen's client for the API description while
// TestGenerated_Go runs the program in the parent folder.
package api

import _ "github.com/oapi-codegen/runtime" // the client needs it
