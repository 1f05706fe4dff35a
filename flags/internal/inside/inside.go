// Package inside connects packages of this module that must not be connected through exported
// identifiers: package flags sets a variable here, and another package of the module uses it.
package inside

// SDKView returns what package sdklint asks about definitions beyond their exported fields. Package
// flags sets it. The argument is a *flags.Definitions, and the result implements the interface that
// sdklint declares.
var SDKView func(definitions any) any
