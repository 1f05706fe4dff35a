// Package plaintest has what the tests of several packages of insights share: instants and
// time zones.
package plaintest
