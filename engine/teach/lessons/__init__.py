"""The lessons, a module for each topic, and what is made from them: texts, quizzes, documents."""
