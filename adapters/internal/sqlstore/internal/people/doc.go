// Package people reads persons and groups: for flags, through a cache, and for lists.
//
// [Store] implements serving.People, serving.Continuity, serving.Members, and the methods of
// capture.History about persons and groups. The query for a person of a flag selects only
// the parts that the flag needs (flags.go). Its result stays in the [Cache] until a
// transaction that changes the person drops it or, with several servers, until it
// expires. Members of cohorts and the properties of groups are read in the same way. The
// ledger and readers of events use the functions that read rows, such as [StoredGroup].
package people
