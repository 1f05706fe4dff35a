// Package lists has what the lists of several resources share: the search text, the filters, the
// order and the pages of a list that is read as a whole, and the normal form of tags.
package lists
