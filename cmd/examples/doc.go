// Package examples is the parent folder of small example programs; README.md describes each of
// them.
package examples
