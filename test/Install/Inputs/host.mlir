func.func @host(%size: index) -> index {
  return %size : index
}
