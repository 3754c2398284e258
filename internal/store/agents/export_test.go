package agents

var (
	EncodeDefinition = encodeDefinition
	Fingerprint      = fingerprint
	Clean            = cleanDefinition
	WeakKey          = isWeakKey
	IsPoint          = isPoint
	SmallOrder       = smallOrder
)

const (
	MaxSlug       = maxSlug
	MaxDefinition = maxDefinition
	MaxSkills     = maxSkills
	MaxTimeoutMS  = maxTimeoutMS
)
