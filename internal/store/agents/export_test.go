package agents

var (
	EncodeDefinition = encodeDefinition
	Fingerprint      = fingerprint
	Clean            = clean
	WeakKey          = weakKey
	SmallOrder       = smallOrder
)

const (
	MaxSlug       = maxSlug
	MaxDefinition = maxDefinition
	MaxSkills     = maxSkills
	MaxTimeoutMS  = maxTimeoutMS
)
