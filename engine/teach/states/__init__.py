"""What the algorithms search: positions, trees and graphs, and the values of their ends."""
