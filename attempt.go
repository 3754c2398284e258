package beeos

// AttemptEnd says why an attempt at a request was over without a reply. The words
// are stored, and part of the REST contract.
type AttemptEnd string

const (
	InstanceGone AttemptEnd = "gone"        // its connection closed
	LeaseExpired AttemptEnd = "lease"       // its node was not heard of any more
	NotHandedOut AttemptEnd = "undelivered" // nobody took it
)

// Words says it to people.
func (e AttemptEnd) Words() string {
	switch e {
	case InstanceGone:
		return "its instance disconnected"
	case LeaseExpired:
		return "its server was not heard of any more"
	case NotHandedOut:
		return "nobody took it"
	}
	return string(e)
}
