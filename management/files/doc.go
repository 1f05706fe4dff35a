// Package files decides which changes a definitions file makes in a store: the
// organization, projects, group types, flags, cohorts and keys to write, to adopt from
// the API, and to delete because they are no longer in the file.
//
// [Parse] reads a file in the form in which it is stored. [Apply] compares it with the
// store and writes only the differences, all through the transaction [Tx], which the
// store implements. Each object has the path of its file as its origin: objects of this
// origin that are no longer in the file are deleted softly, and it is an error if an
// object belongs to another file.
package files
