// Package records reads and writes stored records that several packages share: users and
// memberships, the numbers of objects that had UUIDs before, work that is due (NextDue and RunDue),
// and how far a follower has read the activity log.
package records
