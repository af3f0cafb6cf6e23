"""What the page shows about a suspect beside the sample itself."""
