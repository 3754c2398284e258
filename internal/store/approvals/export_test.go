package approvals

// Lists are what is looked for with each page of a person's.
var Lists = []string{
	approvalSelect + "WHERE open AND " + reviewedOpen + " ORDER BY id DESC LIMIT 50",
	approvalSelect + "WHERE NOT open AND " + reviewedDecided + " ORDER BY id DESC LIMIT 50",
	"SELECT " + grantColumns + " FROM approval_grants WHERE ended_at = 0 AND expires_at > $2 AND " + grantsOfPerson + " ORDER BY id DESC",
	countOpen, findGrant,
}
