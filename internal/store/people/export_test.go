package people

const (
	FailuresFor = failuresFor
	LinkColumns = linkColumns
)
