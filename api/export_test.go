package api

// RenderPage is for tests of other documents.
var RenderPage = renderPage
