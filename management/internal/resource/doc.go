// Package resource has the operations that all managed resources share: it finds, lists, creates,
// changes and deletes objects, and logs the changes, in the order of spec/management.md §1.5.
//
// A package of management describes a resource by a Spec: the table of its fields, the records of
// its objects, and rules that run at fixed places. NewResource returns the Resource of a Spec. Its
// methods run one operation in one transaction; the rules get a View, which is the transaction with
// the scope of the caller, or an Edit, which is a View with the object before and after the change.
// ReadOne and RunAction are for operations beside the usual ones.
//
// Apply sets the members of an object's stored form from the values of a body. Shape finds misspelt
// members of objects inside of a body.
package resource
